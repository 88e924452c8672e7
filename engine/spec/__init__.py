"""An experiment as data: preset files with numbers as papers write them, and their schema."""
