/** Deadline of a write to a local disk. A healthy one takes microseconds, a broken one may hang. */
const deadlineMs = 1000;

/** The same promise, but it rejects at the deadline. The write itself cannot be cancelled and may still complete later. */
export async function withDiskDeadline<T>(writing: Promise<T>): Promise<T> {
  const deadline = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => deadline.reject(new Error(`the disk did not answer within ${deadlineMs} ms`)),
    deadlineMs,
  );
  writing.catch(() => undefined); // it may fail after the deadline, when the rejection is unhandled
  try {
    return await Promise.race([writing, deadline.promise]);
  } finally {
    clearTimeout(timer);
  }
}
