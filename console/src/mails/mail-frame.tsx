import { useElementSize } from '@mantine/hooks';
import classes from './mail-screen.module.css';

type Props = {
  title: string;
  mail: { html: string; text: string };
};

/** Shows a mail. The frame runs no scripts and shares nothing with this page, not even the height of its content. */
export const MailFrame = ({ title, mail }: Props) => {
  const { ref, width } = useElementSize();
  return (
    <iframe
      ref={ref}
      className={classes.frame}
      title={title}
      sandbox=""
      srcDoc={mail.html}
      style={{ height: heightOf(mail.text, width) }}
    />
  );
};

/** Sizes in the layout of mails (`src/services/mail/mail-layout.ts`), in pixels. */
const MAIL = { padding: 24, column: 560, line: 24, paragraph: 16, button: 64, character: 8.3 };
const MAX_HEIGHT = 1_000;

/** An estimate of a mail's height in a frame, from its text part, which has the same paragraphs. */
const heightOf = (text: string, width: number): number => {
  const perLine = Math.max(Math.min(MAIL.column, width - 2 * MAIL.padding) / MAIL.character, 20);
  const linesOf = (line: string): number => Math.max(Math.ceil(line.length / perLine), 1);
  const paragraphs = text.trim().split('\n\n');
  const content = paragraphs.reduce((sum, paragraph) => {
    const lines = paragraph.split('\n').reduce((count, line) => count + linesOf(line), 0);
    const button = /:\nhttps?:/.test(paragraph) ? MAIL.button : 0;
    return sum + lines * MAIL.line + MAIL.paragraph + button;
  }, 0);
  return Math.min(content + 2 * MAIL.padding, MAX_HEIGHT);
};
