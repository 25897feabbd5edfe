import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { messageOfText, textOfMessage } from '../../console/src/app/maintenance-message.ts';

const message = suite('the message of maintenance');

message('has a paragraph for each block of plain text, and escapes it', () => {
  const text = 'Numbers <3 & more.\nBack at noon.\n\nThe team';
  const html = '<p>Numbers &lt;3 &amp; more.<br>Back at noon.</p>\n<p>The team</p>';

  assert.is(messageOfText(text), html);
  assert.is(textOfMessage(html), text);
});

message('without markup is plain text as it is', () => {
  assert.is(textOfMessage('Back at noon.\n\nThe team'), 'Back at noon.\n\nThe team');
  assert.equal([messageOfText('  '), textOfMessage('')], ['', '']);
});

message('with other markup is no plain text', () => {
  for (const html of [
    'Back <b>soon</b>',
    '<p class="x">Soon</p>',
    '<p>A&nbsp;B</p>',
    '<p>A</p><p>B</p>x',
    'a & b',
  ])
    assert.is(textOfMessage(html), null, html);
});

message.run();
