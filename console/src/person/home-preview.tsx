import { Button, Card, Group, SimpleGrid, Skeleton, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { Dialog } from '../components/dialog.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { StatusText } from '../components/status-text.tsx';

type Props = { email: string; name: string; label: string; icon: ReactNode };

/** Shows an admin the home page of a person. The audit trail records each look. */
export const HomePreview = ({ email, name, label, icon }: Props) => {
  const [isOpen, { open, close }] = useDisclosure();
  return (
    <>
      <Button variant="default" leftSection={icon} onClick={open}>
        {label}
      </Button>
      <Dialog isOpen={isOpen} onClose={close} size="lg" title={`What ${name} sees after login`}>
        {isOpen && <Preview email={email} />}
      </Dialog>
    </>
  );
};

const Preview = ({ email }: { email: string }) => {
  const preview = useQuery(trpc.users.preview.queryOptions({ email }, { gcTime: 0, staleTime: Infinity }));
  return (
    <>
      <ProblemAlert error={preview.error} />
      {preview.isPending && <Skeleton height={160} />}
      {preview.data && <Home home={preview.data} />}
      <Text size="sm" c="dimmed" mt="md">
        Apps of other clients are not shown. The audit trail records that you looked.
      </Text>
    </>
  );
};

const Home = ({ home: { is_active, apps } }: { home: Outputs['users']['preview'] }) => {
  if (!is_active) return <Text>The account is inactive: this person cannot log in.</Text>;
  if (apps.length === 0) return <Text>No apps.</Text>;
  return (
    <SimpleGrid component="ul" className="plain-list" cols={{ base: 1, xs: 2 }}>
      {apps.map(({ id, label, description, in_maintenance }) => (
        <Card key={id} component="li" withBorder>
          <Group justify="space-between">
            <Text fw={600}>{label}</Text>
            {in_maintenance && <StatusText label="In maintenance" color="yellow" />}
          </Group>
          <Text c="dimmed" size="sm">
            {description}
          </Text>
        </Card>
      ))}
    </SimpleGrid>
  );
};
