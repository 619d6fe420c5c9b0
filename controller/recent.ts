/** The most recent values by key, up to a capacity. */

export interface Recent<T> {
  get(key: string): T | undefined;
  put(key: string, value: T): void;
  drop(key: string): void;
}

export function openRecent<T>(capacity: number): Recent<T> {
  const values = new Map<string, T>();
  return {
    get: (key) => values.get(key),
    put(key, value) {
      // Insertion order is age: the oldest is removed first.
      values.delete(key);
      values.set(key, value);
      const [oldest] = values.keys();
      if (values.size > capacity && oldest !== undefined) values.delete(oldest);
    },
    drop: (key) => void values.delete(key),
  };
}
