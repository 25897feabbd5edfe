/** Lets works of one name happen one after another within this process, and works of other names meanwhile. */
export type KeyedMutex = ReturnType<typeof createKeyedMutex>;

export const createKeyedMutex = () => {
  const last = new Map<string, Promise<void>>();

  return async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const before = last.get(name) ?? Promise.resolve();
    const turn = before.then(work);
    const over = turn.then(
      () => {},
      () => {},
    );
    last.set(name, over);
    try {
      return await turn;
    } finally {
      if (last.get(name) === over) last.delete(name);
    }
  };
};
