/** What test files of one process share, and the next one would find changed. */
export type ProcessState = Map<string, unknown>;

/** Whatever of these a file replaces, it has to put back. */
const OBJECTS: [name: string, object: object][] = [
  ['process.env', process.env],
  ['process.stdout', process.stdout],
  ['process.stderr', process.stderr],
  ['globalThis', globalThis],
  ['console', console],
  ['Date', Date],
  ['Math', Math],
  ['JSON', JSON],
  ['Object.prototype', Object.prototype],
  ['Array.prototype', Array.prototype],
];

/** What libraries leave: MikroORM's schema generator counts there. */
const LEFT_BY_LIBRARIES = new Set(['globalThis.idx']);
/** Pino's, which is there as long as one of its loggers. */
const isPinos = (listener: { name: string }): boolean => listener.name === 'onExit';

/** Fields that streams keep their own books in. */
const isBookkeeping = (key: string | symbol): boolean => typeof key === 'string' && key.startsWith('_');

export const readProcessState = (): ProcessState => {
  const state: ProcessState = new Map([
    ['the working directory', process.cwd()],
    ['process.exitCode', process.exitCode],
  ]);
  for (const [name, object] of OBJECTS)
    for (const key of Reflect.ownKeys(object)) {
      const property = Reflect.getOwnPropertyDescriptor(object, key);
      // Getters are Node's own, for what it loads when it is first asked for.
      if (property && 'value' in property && !isBookkeeping(key))
        state.set(`${name}.${String(key)}`, property.value);
    }
  for (const event of process.eventNames())
    for (const [index, listener] of process.rawListeners(event).entries())
      if (!isPinos(listener)) state.set(`listener ${index} of ${String(event)}`, listener);
  return state;
};

/** The state before a file was loaded, along with the globals of libraries that it has brought. */
export const withLibraries = (before: ProcessState): ProcessState =>
  new Map([...[...readProcessState()].filter(([name]) => name.startsWith('globalThis.')), ...before]);

/** The names of what is not as it was. */
export const changesSince = (before: ProcessState): string[] => {
  const now = readProcessState();
  const names = new Set([...before.keys(), ...now.keys()]);
  return [...names].filter(
    (name) => !LEFT_BY_LIBRARIES.has(name) && !Object.is(before.get(name), now.get(name)),
  );
};
