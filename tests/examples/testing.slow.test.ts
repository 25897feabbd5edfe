import '../fixtures/steward-from-sources.ts';

// Importing these files registers their suites. Not by `import` statements, which would resolve before the hook is registered.
await import('../../docs/examples/testing/front-end.test.ts');
await import('../../docs/examples/testing/procedures.test.ts');
