"""Export of kernels: C for the vendor's header, a dispatch over sizes, JSON, and a host to try it all on."""

from autocomp.export.check import check_export
from autocomp.export.document import Export
from autocomp.export.files import export_files
from autocomp.export.schedule import Schedule, of_kernel, of_record

__all__ = ["Export", "Schedule", "check_export", "export_files", "of_kernel", "of_record"]
