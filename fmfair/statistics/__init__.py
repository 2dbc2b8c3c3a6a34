"""How sure a number is: intervals, tests and corrections, as functions of whole arrays.

Each function takes arrays (or single numbers) and returns arrays of 64-bit floats, NaN where a result is undefined.
Nothing here knows of tables, engines or metrics by name; the frames give NaN a NULL and a reason.
"""
