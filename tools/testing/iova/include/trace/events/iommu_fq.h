/* SPDX-License-Identifier: GPL-2.0-only */
#include "../../../../../../include/trace/events/iommu_fq.h"
