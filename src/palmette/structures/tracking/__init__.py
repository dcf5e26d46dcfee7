"""Tracking by assignment: which events explain the detections of one frame and of a later one."""
