import{modules as o}from"./29930.shared.js";import{modules as s}from"./4341.shared.js";const t=2964,d=[2964,4341],m={...o,...s};export{t as id,d as ids,m as modules};
