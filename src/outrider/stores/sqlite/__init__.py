"""The frontier in one file, for one machine: nothing to install, any number of processes, survives kills."""
