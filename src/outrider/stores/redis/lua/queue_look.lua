-- The moment, and how many entries wait in the queue, those that are lent included.

return {string.format('%.6f', moment('')), size()}
