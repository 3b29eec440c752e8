"""Speed and memory beside peers; nothing here is a test."""
