"""Types of operators, for the checker. The planner has nodes for them, so they have no function."""

from policyd._core.eval.functions cimport declared

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library

#: LIBRARY: Library

LIBRARY = Library("special forms", (
    declared("_?_:_", "_?_:_(bool, A, A) -> A", "conditional"),
    declared("_&&_", "_&&_(bool, bool) -> bool", "logical_and"),
    declared("_||_", "_||_(bool, bool) -> bool", "logical_or"),
    declared("_==_", "_==_(A, A) -> bool", "equals").estimated(estimates.equality),
    declared("_!=_", "_!=_(A, A) -> bool", "not_equals").estimated(estimates.comparison),
    declared("_[_]", "_[_](list(A), int) -> A", "index_list"),
    declared("_[_]", "_[_](map(A, B), A) -> B", "index_map"),
    declared("_[_]", "_[_](optional_type(list(V)), int) -> optional_type(V)",
             "optional_list_index_int"),
    declared("_[_]", "_[_](optional_type(map(K, V)), K) -> optional_type(V)",
             "optional_map_index_value"),
    declared("_?._", "_?._(dyn, string) -> optional_type(V)", "select_optional_field"),
    declared("_[?_]", "_[?_](list(V), int) -> optional_type(V)", "list_optindex_optional_int"),
    declared("_[?_]", "_[?_](optional_type(list(V)), int) -> optional_type(V)",
             "optional_list_optindex_optional_int"),
    declared("_[?_]", "_[?_](map(K, V), K) -> optional_type(V)", "map_optindex_optional_value"),
    declared("_[?_]", "_[?_](optional_type(map(K, V)), K) -> optional_type(V)",
             "optional_map_optindex_optional_value"),
    declared("@not_strictly_false", "@not_strictly_false(bool) -> bool", "not_strictly_false"),
    declared("cel.@mapInsert", "cel.@mapInsert(map(K, V), K, V) -> map(K, V)",
             "@mapInsert_map_key_value").since(32),
    declared("cel.@mapInsert", "cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)",
             "@mapInsert_map_map").since(32),
))
