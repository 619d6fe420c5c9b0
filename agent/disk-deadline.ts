/** How long a write to a local disk is waited for. It takes microseconds, or it hangs: disks are among the things that break. */
const deadlineMs = 1000;

/** The same promise, but it rejects when the disk does not answer. The write itself cannot be called back and may still end later. */
export async function withDiskDeadline<T>(writing: Promise<T>): Promise<T> {
  const deadline = Promise.withResolvers<never>();
  const timer = setTimeout(() => deadline.reject(new Error(`the disk did not answer within ${deadlineMs} ms`)), deadlineMs);
  writing.catch(() => undefined); // it may fail after the deadline, when nobody listens
  try {
    return await Promise.race([writing, deadline.promise]);
  } finally {
    clearTimeout(timer);
  }
}
