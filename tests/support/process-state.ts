/** State that the test files of one process share: a change would affect the next file. */
export type ProcessState = Map<string, unknown>;

/** A test file must restore what it replaces in these objects. */
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

/** MikroORM's schema generator keeps a counter there. */
const LEFT_BY_LIBRARIES = new Set(['globalThis.idx']);
/** Pino's listener stays as long as one of its loggers exists. */
const isPinos = (listener: { name: string }): boolean => listener.name === 'onExit';

/** Internal fields of streams. */
const isBookkeeping = (key: string | symbol): boolean => typeof key === 'string' && key.startsWith('_');

export const readProcessState = (): ProcessState => {
  const state: ProcessState = new Map([
    ['the working directory', process.cwd()],
    ['process.exitCode', process.exitCode],
  ]);
  for (const [name, object] of OBJECTS)
    for (const key of Reflect.ownKeys(object)) {
      const property = Reflect.getOwnPropertyDescriptor(object, key);
      // Getters belong to Node, which loads the value on first use.
      if (property && 'value' in property && !isBookkeeping(key))
        state.set(`${name}.${String(key)}`, property.value);
    }
  for (const event of process.eventNames())
    for (const [index, listener] of process.rawListeners(event).entries())
      if (!isPinos(listener)) state.set(`listener ${index} of ${String(event)}`, listener);
  return state;
};

/** The state before a file was loaded, and the globals of the libraries that it loaded. */
export const withLibraries = (before: ProcessState): ProcessState =>
  new Map([...[...readProcessState()].filter(([name]) => name.startsWith('globalThis.')), ...before]);

/** The names of everything that changed. */
export const changesSince = (before: ProcessState): string[] => {
  const now = readProcessState();
  const names = new Set([...before.keys(), ...now.keys()]);
  return [...names].filter(
    (name) => !LEFT_BY_LIBRARIES.has(name) && !Object.is(before.get(name), now.get(name)),
  );
};
