import { Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { callsOf, type Procedure } from './calls-of.ts';
import classes from './code-samples.module.css';
import { curlOf, typescriptOf } from './samples.ts';

/** The requests of the screen as TypeScript and as curl commands. */
export const CodeSamples = ({ procedures }: { procedures: readonly Procedure[] }) => {
  const calls = callsOf(useQueryClient(), procedures);
  return (
    <Stack>
      <Text size="sm">
        The request of this screen, for a script with a token in <Code>STEWARD_TOKEN</Code>. Create one in{' '}
        <Link className="action-link" style={{ textDecoration: 'underline' }} to="/account">
          your account
        </Link>
        .
      </Text>
      <Sample title="TypeScript" code={typescriptOf(calls)} />
      <Sample title="curl" code={curlOf(calls)} />
    </Stack>
  );
};

const Sample = ({ title, code }: { title: string; code: string }) => (
  <Stack component="section" gap="xs" aria-label={title}>
    <Group justify="space-between">
      <Text fw={600}>{title}</Text>
      <CopyButton value={code}>
        {({ copied, copy }) => (
          <Button variant="default" size="compact-sm" aria-label={`Copy the ${title} code`} onClick={copy}>
            {copied ? 'Copied' : 'Copy'}
          </Button>
        )}
      </CopyButton>
    </Group>
    <Code block tabIndex={0} className={classes.code}>
      {code}
    </Code>
  </Stack>
);
