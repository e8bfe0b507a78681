"""The life of a permit: phases, approvals, grants, trail. Pure."""
