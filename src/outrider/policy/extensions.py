"""Which paths end in something that is no page? Asked of the last segment of a *path* only, never of a host (H2-19).

The groups are data (S2-16): a crawl names groups or single extensions in `skip_extensions`. Sitemaps and feeds are
fetched whatever they end in (C27), and what a server really sends is decided by its Content-Type.
"""

from typing import Final

GROUPS: Final[dict[str, frozenset[str]]] = {
    "images": frozenset(
        {".avif", ".bmp", ".gif", ".heic", ".ico", ".jpeg", ".jpg", ".png", ".svg", ".tif", ".tiff", ".webp"}
    ),
    "video": frozenset({".avi", ".flv", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm", ".wmv"}),
    "audio": frozenset({".aac", ".flac", ".m4a", ".mid", ".mp3", ".ogg", ".opus", ".wav", ".wma"}),
    "documents": frozenset(
        {".doc", ".docx", ".epub", ".odp", ".ods", ".odt", ".pdf", ".ppt", ".pptx", ".rtf", ".xls", ".xlsx"}
    ),
    "archives": frozenset({".7z", ".bz2", ".gz", ".rar", ".tar", ".tgz", ".xz", ".zip", ".zst"}),
    "executables": frozenset({".apk", ".deb", ".dmg", ".exe", ".jar", ".msi", ".rpm"}),
    "binary": frozenset({".bin", ".dat", ".iso"}),
    "design": frozenset({".ai", ".eps", ".indd", ".psd", ".sketch"}),
    "data": frozenset({".csv", ".json", ".sql", ".xml"}),
}

NON_TEXT: Final[frozenset[str]] = frozenset().union(*GROUPS.values())
