#include "libcrypto_shims.h"
