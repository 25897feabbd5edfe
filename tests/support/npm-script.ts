import manifest from '../../package.json' with { type: 'json' };

/**
 * The environment and the Node options with which `npm start` and `npm run demo` start the service. They limit memory use: see
 * docs/architecture.md.
 */
export const npmScript = (name: 'start' | 'demo') => {
  const script = manifest.scripts[name];
  const [, settings, options] = /^((?:\w+=\S+ )+)exec node (--.+) src\/cli\.js \w+$/.exec(script) ?? [];
  if (settings === undefined || options === undefined) throw new Error(`Cannot read the script: ${script}`);
  const pairs = [...settings.matchAll(/(\w+)=(\S+) /g)].map(([, name = '', value = '']) => [name, value]);
  return { settings: Object.fromEntries(pairs) as Record<string, string>, nodeOptions: options.split(' ') };
};
