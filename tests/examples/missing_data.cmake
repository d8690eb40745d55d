# A data folder that lacks the files is named, and the exit status is 1
execute_process(COMMAND ${COMMAND} --data /nonexistent/mnist
                RESULT_VARIABLE status ERROR_VARIABLE text OUTPUT_QUIET)
if(NOT status EQUAL 1 OR NOT text MATCHES "^io: `/nonexistent/mnist/train-images-idx3-ubyte.gz`")
  message(FATAL_ERROR "exit status ${status}, error text: ${text}")
endif()
