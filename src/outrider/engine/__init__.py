"""The loop: lease sites, visit their URLs, write everything down, settle. Nothing here decides: it asks `policy`."""
