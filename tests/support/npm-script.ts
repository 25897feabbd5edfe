import manifest from '../../package.json' with { type: 'json' };

/**
 * The environment and the options of node with which `npm start` and `npm run demo` start the service. They hold back
 * habits that cost more memory than the work itself: see docs/architecture.md.
 */
export const npmScript = (name: 'start' | 'demo') => {
  const script = manifest.scripts[name];
  const [, threshold, options] =
    /^MALLOC_MMAP_THRESHOLD_=(\d+) exec node (--.+) src\/cli\.js \w+$/.exec(script) ?? [];
  if (threshold === undefined || options === undefined) throw new Error(`Cannot read the script: ${script}`);
  return { settings: { MALLOC_MMAP_THRESHOLD_: threshold }, nodeOptions: options.split(' ') };
};
