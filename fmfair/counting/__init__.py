"""Counts that add up: the table of counts per score bin, made from rows, added, and evaluated."""
