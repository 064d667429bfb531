cat: 'it'\''s [1].txt': No such file or directory
