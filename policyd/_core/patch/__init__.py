"""JSON Patch: finding, applying and checking one."""
