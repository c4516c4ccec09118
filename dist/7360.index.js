import{modules as o}from"./87360.shared.js";import{modules as s}from"./19329.shared.js";const t=7360,d=[7360],m={...o,...s};export{t as id,d as ids,m as modules};
