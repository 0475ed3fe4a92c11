"""Run clusterers and make sure that their classes meet the goals."""
