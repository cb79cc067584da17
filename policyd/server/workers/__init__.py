"""``serve --workers``: several processes behind one port, and the parent that supervises them."""
