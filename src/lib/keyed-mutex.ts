/** Runs work with the same key one after another within this process. Work with different keys runs concurrently. */
export type KeyedMutex = ReturnType<typeof createKeyedMutex>;

export const createKeyedMutex = () => {
  const last = new Map<string, Promise<unknown>>();

  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const previous = last.get(key) ?? Promise.resolve();
    const result = previous.then(work);
    const settled = Promise.allSettled([result]);
    last.set(key, settled);
    try {
      return await result;
    } finally {
      if (last.get(key) === settled) last.delete(key);
    }
  };
};
