# Fails if one of the objects in OBJECTS (separated by |) defines a weak symbol, as NM lists it.
string(REPLACE "|" ";" OBJECTS "${OBJECTS}")
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND "${NM}" -C "${object}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " [WVu] [^\n]*" shared "${symbols}")
  if(shared)
    message(FATAL_ERROR "${object} defines functions that other units share: ${shared}\n"
      "Keep them out of it: give it functions of its own in its anonymous namespace.")
  endif()
endforeach()
