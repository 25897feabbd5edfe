import { Stack, Text } from '@mantine/core';
import classes from './attempt.module.css';

type Attempt = { status: number | null; duration_ms: number | null; error: string | null };

/** `204 in 83 ms`, or why there was no response. */
export const attemptText = ({ status, duration_ms: ms, error }: Attempt): string => {
  if (status === null) return error ?? 'No response';
  return ms === null ? String(status) : `${status} in ${ms.toLocaleString()} ms`;
};

export const isDelivered = (status: number | null): boolean =>
  status !== null && status >= 200 && status < 300;

type Props = { title: string; text: string };

/** A body, for example of a response. */
export const Body = ({ title, text }: Props) => (
  <Stack gap={4}>
    <Text size="sm" fw={600}>
      {title}
    </Text>
    {text === '' ? (
      <Text size="sm" c="dimmed">
        Empty.
      </Text>
    ) : (
      <section
        className={classes.code}
        aria-label={title}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        tabIndex={0}
      >
        {text}
      </section>
    )}
  </Stack>
);
