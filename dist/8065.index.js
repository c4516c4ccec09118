import{modules as o}from"./38065.shared.js";import{modules as s}from"./1384.shared.js";const t=8065,d=[8065,446],m={...o,...s};export{t as id,d as ids,m as modules};
