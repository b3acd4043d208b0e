//! Object stores: folders of this machine, and real or verifying servers of clouds.

mod broken;
mod folder;
mod hostile_folder;
mod s3;
mod support;
