# SPDX-License-Identifier: LGPL-2.1-or-later
# A header as Doxygen reads it: what is in the library's namespace is a group with the header's name.
/^}  \/\/ namespace xcorr/ { print "/** \\} */" }
/^namespace xcorr {/ {
  group = FILENAME
  gsub(/.*\/|\.hpp$/, "", group)
  $0 = $0 " /** \\addtogroup " group " */ /** \\{ */"
}
{ print }
