#include "arithmetic/form_engine.hpp"

namespace autocomp {

FormEngine form_engine(MachineCode code) {
  switch (code) {
    case MachineCode::Avx512: return &avx512::run;
    case MachineCode::Avx2: return &avx2::run;
    case MachineCode::Plain: break;
  }
  return &plain::run;
}

}  // namespace autocomp
