import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { html } from '../../src/lib/html.ts';
import { anyCharacter } from '../support/any-character.ts';
import { browserSuite } from '../support/browser.ts';

const markup = browserSuite('markup in Chromium');

const SAMPLES = 500;
type Parsed = { title: string; text: string; elements: number };

markup('the html tag preserves every string in text and attributes', async ({ browser }) => {
  const hostile = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.stringMatching(/^(<|>|"|'|&|=|\/|script|img|onerror|&lt;|&#39|<!--|-->|\r|\n|`| )*$/),
  );
  const texts = fc.sample(hostile, SAMPLES).map((text) => text.toWellFormed());
  const documents = texts.map((text) => html`<p title="${text}">x${text}</p>`.toString());
  await using visit = await browser.open();
  const parsed = await visit.page.evaluate<Parsed[]>(`${JSON.stringify(documents)}.map((source) => {
    const { body } = new DOMParser().parseFromString(source, 'text/html');
    const p = body.firstElementChild;
    return { title: p.title, text: p.textContent, elements: body.querySelectorAll('*').length };
  })`);

  assert.is(parsed.length, SAMPLES);
  for (const [index, text] of texts.entries()) {
    // The HTML standard normalizes line breaks and replaces or drops NUL.
    const lines = text.replaceAll(/\r\n?/g, '\n');
    const expected = { title: lines.replaceAll('\0', '\uFFFD'), text: `x${lines.replaceAll('\0', '')}` };
    assert.equal(parsed[index], { ...expected, elements: 1 });
  }
});

markup('a message of a client shows markup and links, and runs no script', async ({ app, browser }) => {
  const message = `<p>Ask <b>Alex</b> or <a href="https://help.test/" onclick="run()">the desk</a>.</p>
    <script>document.title = 'run'</script><img src=x onerror="document.title = 'run'">
    <svg/onload="document.title='run'"><a href="javascript:document.title='run'">no link</a></div></main>`;
  await app.db().updateTable('clients').set({ message_404: message }).where('id', '=', 1).execute();
  await using visit = await browser.open();
  const { page } = visit;
  await page.goto('/nowhere/');

  const link = page.getByRole('link', { name: 'the desk' });
  assert.is(await link.getAttribute('href'), 'https://help.test/');
  assert.is(await link.getAttribute('rel'), 'noopener noreferrer');
  assert.is(await page.locator('.message b').innerText(), 'Alex');
  assert.is(await page.locator('main .card .button').count(), 1);
  assert.is(await page.locator('.message :is(script, img, svg), .message [onclick]').count(), 0);
  await page.getByText('no link').click();
  assert.is.not(await page.title(), 'run');
});

markup.run();
