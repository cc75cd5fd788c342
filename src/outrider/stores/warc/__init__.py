"""The archive: WARC 1.1, one gzip member a record, and a CDXJ index that says what is settled.

    archive/NAME.warc.gz.open     being written by one process; what it holds is synced before anyone is told of it
    archive/NAME.warc.gz          complete: nothing will be added, nothing in it waits to be settled
    archive/indexes/NAME.cdxj     a line for each capture that is settled; sorted once the file is complete

A capture is two or three records in a row: `response` (or `revisit`), `request` where it is known, and `metadata`,
which comes last and so tells a whole capture from a torn one.
"""
