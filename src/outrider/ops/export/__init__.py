"""What a crawl has found, for other programs: rows that are read again from records and archive, a batch at a time.

Each module makes one kind of row. How rows are written is `ops.formats`'s to know; pages are rows already.
"""
