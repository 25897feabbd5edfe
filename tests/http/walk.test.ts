import * as assert from 'uvu/assert';
import { publishDemoPackages } from '../../src/demo/packages.ts';
import { suite } from '../support/suite.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { fieldsOf, SHAPES, type ShapeName } from './documented-shapes.ts';
import { sendRow } from './send-row.ts';
import { ROWS, type Row } from './walk-rows.ts';

const walk = suite<{ app: TestApp }>('walk through the interface');

walk.before(async (context) => {
  context.app = await startTestApp();
  await publishDemoPackages(context.app.store);
});
walk.after(({ app }) => app.close());

for (const row of ROWS) {
  walk(`${row.line} answers ${row.status} ${row.shape ?? 'without content'}`, async ({ app }) => {
    const response = await sendRow(app, row);

    assert.is(response.statusCode, row.status, response.body);
    if (!row.shape) return assert.is(response.body, '');
    assert.match(String(response.headers['content-type']), /^application\/json/);
    matchesShape(response.json(), row.shape);
  });
}

walk.run();

/** Checks for exactly the documented fields and types. A list must not be empty, or the test proves nothing. */
const matchesShape = (answer: unknown, shape: NonNullable<Row['shape']>): void => {
  const isList = shape.startsWith('[');
  const name = (isList ? shape.slice(1, -1) : shape) as ShapeName; // by the type of `Row`
  assert.is(Array.isArray(answer), isList);
  const items: unknown[] = Array.isArray(answer) ? answer : [answer];
  assert.ok(items.length > 0, 'an empty list proves nothing');
  for (const item of items) {
    const parsed = SHAPES[name].safeParse(item);
    assert.ok(parsed.success, `${shape}: ${parsed.error?.message}`);
    assert.equal(Object.keys(item as object).sort(), fieldsOf(name)); // the shape has just proved it an object
  }
};
