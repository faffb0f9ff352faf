#include "libcrypto_shims.h"
#include "socket_shims.h"
