/** `nvidia.com/gpu`, `metax-tech.com/gpu`, `huawei.com/Ascend910`, ... */
export const isAccelerator = (resource: string): boolean => /^[^/]+\/(.*(gpu|npu)|ascend.*)$/i.test(resource);
