import { List, Stack, Text } from '@mantine/core';
import { useAppLabels } from '../components/changes.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import type { GroupScreenData } from './group-screen.tsx';

type Props = {
  group: GroupScreenData;
  isOpen: boolean;
  onConfirm: () => void;
  onClose: () => void;
};

/** Asks before a group is removed, and shows who would lose which apps. */
export const RemoveGroupModal = ({ group, isOpen, onConfirm, onClose }: Props) => (
  <Dialog isOpen={isOpen} onClose={onClose} title={`Remove the group ${group.name}?`}>
    <Stack>
      <Losses losses={group.losses} />
      <Text>The people themselves, their own grants and other groups stay as they are.</Text>
      <DialogButtons
        action="Remove group"
        isDanger
        onAction={() => {
          onClose();
          onConfirm();
        }}
        onClose={onClose}
      />
    </Stack>
  </Dialog>
);

const Losses = ({ losses }: Pick<GroupScreenData, 'losses'>) => {
  const appLabels = useAppLabels();
  if (losses.length === 0)
    return <Text>No one loses an app: all members also have the apps in other ways.</Text>;
  return (
    <div>
      <Text>These apps close at once for those who have them only through this group:</Text>
      <List>
        {losses.map(({ app, people }) => (
          <List.Item key={app}>
            {appLabels.get(app) ?? app}: {people === 1 ? '1 person' : `${people.toLocaleString()} people`}
          </List.Item>
        ))}
      </List>
    </div>
  );
};
