-- Entries that wait, and those that are lent.

return size()
