from isolation import *  # noqa: F403
