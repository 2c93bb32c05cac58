//! The rights of a connection, by the kernel's word on who is at its other end (SO_PEERCRED, SO_PEERGROUPS).

use std::os::unix::net::UnixStream;

use rustix::process::geteuid;

use super::{names, sys};

/// Rights of the group's members, who may always watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupMay {
    /// None besides.
    Watch,
    /// Change the weights of their own threads.
    Own,
    /// Change every weight, and the policy's parameters.
    All,
}

/// Decides who may connect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admission {
    /// The loader's user.
    owner: u32,
    group: Option<(u32, GroupMay)>,
}

/// The rights of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rights {
    Watch,
    /// And change the weights of this user's threads.
    Own(u32),
    /// And all weights, and the policy's parameters.
    All,
    /// And put another policy in its place, whose options name files.
    Owner,
}

impl Admission {
    /// Admits root, this process's user, and the members of the group.
    pub fn new(group: Option<(u32, GroupMay)>) -> Self {
        Self { owner: geteuid().as_raw(), group }
    }

    /// The mode of the socket lets in only those who may use it. This check also holds if the mode was changed, or a
    /// connection was passed on: its credentials are those at the time when it was made.
    pub fn rights(&self, stream: &UnixStream) -> Option<Rights> {
        let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
        let mut groups = sys::peer_groups(stream).unwrap_or_default();
        groups.push(peer.gid.as_raw());
        self.rights_of(peer.uid.as_raw(), &groups)
    }

    fn rights_of(&self, uid: u32, groups: &[u32]) -> Option<Rights> {
        if uid == 0 || uid == self.owner {
            return Some(Rights::Owner);
        }
        let (_, may) = self.group.filter(|(group, _)| groups.contains(group))?;
        Some(match may {
            GroupMay::Watch => Rights::Watch,
            GroupMay::Own => Rights::Own(uid),
            GroupMay::All => Rights::All,
        })
    }
}

impl Rights {
    /// Whether the thread's weight may be changed. Returns the reason if not. A thread that has ended is nobody's.
    pub fn may_weigh(self, thread: u32) -> Result<(), String> {
        match self {
            Self::All | Self::Owner => Ok(()),
            Self::Own(uid) if is_of(names::uids_of(thread), uid) => Ok(()),
            Self::Own(_) => Err(format!("thread {thread} is not yours")),
            Self::Watch => Err("members of the group may only watch".to_owned()),
        }
    }

    /// Whether the policy's parameters may be changed. Returns the reason if not.
    pub fn may_tune(self) -> Result<(), String> {
        match self {
            Self::All | Self::Owner => Ok(()),
            Self::Own(_) => Err("only root may change parameters of the policy".to_owned()),
            Self::Watch => Err("members of the group may only watch".to_owned()),
        }
    }

    /// Whether another policy may be put in place. Returns the reason if not.
    pub fn may_replace(self) -> Result<(), String> {
        match self {
            Self::Owner => Ok(()),
            _ => Err("only root may load another policy".to_owned()),
        }
    }
}

/// A set-user-ID program belongs to neither of its users.
fn is_of(uids: Option<[u32; 3]>, uid: u32) -> bool {
    uids.is_some_and(|uids| uids == [uid; 3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_gets_what_root_says_and_others_nothing() {
        let of = |may| Admission { owner: 500, group: Some((42, may)) };
        for (may, rights) in
            [(GroupMay::Watch, Rights::Watch), (GroupMay::Own, Rights::Own(7)), (GroupMay::All, Rights::All)]
        {
            assert_eq!(of(may).rights_of(7, &[7, 42]), Some(rights));
            assert_eq!(of(may).rights_of(7, &[7, 43]), None);
            assert_eq!(of(may).rights_of(0, &[0]), Some(Rights::Owner));
            assert_eq!(of(may).rights_of(500, &[500]), Some(Rights::Owner));
        }
        let alone = Admission { owner: 0, group: None };
        assert_eq!((alone.rights_of(7, &[0, 7]), alone.rights_of(0, &[7])), (None, Some(Rights::Owner)));
    }

    #[test]
    fn a_thread_belongs_to_a_user_that_it_is_in_every_way() {
        assert!(is_of(Some([7, 7, 7]), 7));
        for other in [Some([7, 0, 0]), Some([7, 0, 7]), Some([0, 7, 7]), Some([7, 7, 0]), None] {
            assert!(!is_of(other, 7), "{other:?}");
        }
    }

    #[test]
    fn the_kernel_says_who_is_at_the_other_end() {
        let (ours, _theirs) = UnixStream::pair().expect("a pair");
        assert_eq!(Admission::new(None).rights(&ours), Some(Rights::Owner), "the same user");
        let stranger = Admission { owner: geteuid().as_raw() + 1, group: None };
        let expected = geteuid().is_root().then_some(Rights::Owner);
        assert_eq!(stranger.rights(&ours), expected);
        let mut groups: Vec<u32> =
            rustix::process::getgroups().expect("groups").iter().map(|group| group.as_raw()).collect();
        let mut said = sys::peer_groups(&ours).expect("groups");
        groups.sort_unstable();
        said.sort_unstable();
        assert_eq!(said, groups);
    }

    #[test]
    fn only_the_owner_changes_a_thread() {
        let (this, me) = (std::process::id(), geteuid().as_raw());
        assert_eq!(Rights::Own(me).may_weigh(this), Ok(()));
        assert_eq!(Rights::Own(me + 1).may_weigh(this), Err(format!("thread {this} is not yours")));
        assert!(Rights::Own(me).may_weigh(u32::MAX).is_err() && Rights::Watch.may_weigh(this).is_err());
        assert!(Rights::Own(me).may_tune().is_err() && Rights::Watch.may_tune().is_err());
        assert!(Rights::All.may_weigh(u32::MAX).is_ok() && Rights::All.may_tune().is_ok());
    }
}
