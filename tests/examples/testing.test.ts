// The suites of these files register themselves.
import '../../docs/examples/testing/front-end.test.ts';
import '../../docs/examples/testing/procedures.test.ts';
