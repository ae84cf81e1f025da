"""Protocol buffer schemas (PRO-*, SCH-17, SCH-30)."""
