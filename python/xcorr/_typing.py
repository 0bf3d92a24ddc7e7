# SPDX-License-Identifier: LGPL-2.1-or-later
"""`overload` for type checkers alone: the real one keeps a function, and so its module's memory, beyond the end of all
that needs it, of which nanobind complains when Python ends."""
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import overload as overload
else:
    def overload(function: Any) -> Any:
        return function
