// Importing these files registers their suites.
import '../../docs/examples/testing/front-end.test.ts';
import '../../docs/examples/testing/procedures.test.ts';
